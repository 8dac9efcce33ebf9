"""Data that Python alone reads are named by every source, with the lines that convert them."""

import gzip
import pickle

import numpy as np
import pytest

import ffkit


def idx(path):
    path.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(4))


CASES = {
    "train-images-idx3-ubyte": (idx, r"is an IDX file.*MNIST\(ROOT"),
    "train-images-idx3-ubyte.gz": (lambda path: path.write_bytes(gzip.compress(bytes(20))), r"is an IDX file.*MNIST\(ROOT"),
    "batches.meta": (lambda path: path.write_bytes(pickle.dumps({}, 2)), r"CIFAR10\(ROOT"),
    "data_batch_1": (lambda path: path.write_bytes(pickle.dumps({b"data": [1]}, 2)), r"like those of CIFAR-10.*CIFAR10\(ROOT"),
    "rows.pkl": (lambda path: path.write_bytes(pickle.dumps([1, 2])), r"is a Python pickle.*pickle.load"),
    "x.mat": (lambda path: path.write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + bytes(100)), r"is a MAT file.*scipy.io.loadmat"),
    "x.bin.mat": (lambda path: path.write_bytes(b"MATLAB 7.3 MAT-file" + bytes(600)), r"7.3, which is HDF5.*from_hdf5"),
    "x.npz": (lambda path: np.savez(path, images=np.zeros((2, 3)), labels=np.zeros(2)), r"numpy.load\("),
    "x.npy": (lambda path: np.save(path, np.zeros(3)), r"is a NumPy array"),
    "no_ending": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100)), r"is an HDF5 file.*from_hdf5"),
    "train_X.bin": (lambda path: path.write_bytes(bytes(100)), r"STL10\(ROOT"),
    "unlabeled_X.bin": (lambda path: path.write_bytes(bytes(100)), r"STL10\(ROOT"),
    "meta": (lambda path: path.write_bytes(pickle.dumps({}, 2)), r"CIFAR100\(ROOT"),
    "x.pt": (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(100)), r"torch.load\("),
    ".zgroup": (lambda path: path.write_text("{}"), r"zarr.open"),
    "0.lance": (lambda path: path.write_bytes(bytes(100)), r"lance.dataset"),
    "x.array_record": (lambda path: path.write_bytes(bytes(100)), r"from_array_record"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_it_is(name, tmp_path):
    make, says = CASES[name]
    (tmp_path / "src/deep/raw").mkdir(parents=True)
    make(tmp_path / "src/deep/raw" / name)
    for source, place in ((ffkit.convert.folder, "src"), (ffkit.convert.webdataset, "src"), (ffkit.convert.parquet, f"src/deep/raw/{name}"), (ffkit.convert.tfrecord, "src/deep/raw")):
        with pytest.raises(ffkit.Error, match=says) as caught:
            source(tmp_path / place, tmp_path / "dst")
        assert "in Python, use " in str(caught.value) and str(caught.value).endswith(")")


OTHERS = {
    "train-00000-of-00001.parquet": (b"PAR1" + bytes(20) + b"PAR1", r"is a parquet file: use ffconvert parquet \S+\.parquet DST"),
    "data.arrow": (b"ARROW1" + bytes(20), r"is an Arrow file: use ffconvert parquet \S+\.arrow DST"),
    "data.mdb": (bytes(100), r"is an LMDB file: use ffconvert lmdb \S+/deep DST"),
    "shard.00000.mds": (bytes(100), r"is a shard of MosaicML Streaming: use ffconvert mds \S+/deep DST"),
    "train.tfrecord": (bytes(100), r"is a TFRecord file: use ffconvert tfrecord \S+/deep DST"),
    "train.rec": (bytes(100), r"is a RecordIO file: use ffconvert recordio \S+/deep DST"),
    "train.beton": (bytes(100), r"is a file of FFCV: use ffconvert beton \S+/deep DST"),
    "train.zip": (b"PK\x03\x04" + bytes(100), r"contains train.zip, which is a ZIP archive: unpack it, or convert tars of WebDataset with ffconvert webdataset$"),
    "train.tar.gz": (gzip.compress(b"x"), r"is gzip data: unpack it, or"),
    "train.tar": (bytes(257) + b"ustar\x00" + b"00" + bytes(247), r"is a tar archive: unpack it, or"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_another_source_reads_is_said(name, tmp_path):
    data, says = OTHERS[name]
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/deep" / name).write_bytes(data)
    with pytest.raises(ffkit.Error, match=says):
        ffkit.convert.folder(tmp_path / "src", tmp_path / "dst")


def test_a_source_does_not_name_itself(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    with pytest.raises(ffkit.Error) as caught:
        ffkit.convert.parquet(tmp_path / "x.parquet", tmp_path / "dst")
    assert "ffconvert parquet" not in str(caught.value)


def test_other_errors_stay(tmp_path):
    (tmp_path / "src/a").mkdir(parents=True)
    with pytest.raises(ffkit.Error, match="no pictures|holds no"):
        ffkit.convert.folder(tmp_path / "src", tmp_path / "dst")
