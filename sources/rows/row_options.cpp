#include <ffkit/base/option_names.h>
#include <ffkit/sources/row_sources.h>

namespace ffkit {

void describe(RowOptions& options, OptionTable& table) {
  table
      .add("image-column", options.image_column,
           "Column of pictures that becomes the field 'image'")
      .set_default("the only column of pictures");
  table
      .add("label-column", options.label_column,
           "Column that becomes the field 'label'. Its values are whole numbers, or texts that are "
           "in " +
               option_name("classes") +
               ". With the word 'none', no column becomes the field 'label'")
      .set_default("the column with classes, or the column 'label'");
  table
      .add("id-column", options.id_column,
           "Column that becomes the field 'id'. Its values are texts or whole numbers")
      .set_default("the column 'id' or '__key__', or else the file and the row");
  table.add_names("columns", options.columns, "Names of the other columns to convert")
      .set_default("all");
  table.add("label-offset", options.label_offset,
            "ffkit adds this number to each label; -1 is for files with labels that begin at 1");
  table.add("classes", options.classes,
            "Text file with one class name on each line; without this file, ffkit uses the names "
            "in the data");
  table
      .add("max-sample-bytes", options.max_sample_bytes,
           "Limit for the size of a sample; a larger sample is a bad sample. Each thread keeps one "
           "sample in memory")
      .set_size()
      .set_range(1 << 10, 1LL << 40);
}

}  // namespace ffkit
