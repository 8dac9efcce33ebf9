#include <ffkit/base/option_names.h>
#include <ffkit/sources/row_sources.h>

namespace ffkit {

void describe(RowOptions& options, OptionTable& table) {
  table
      .add("image-column", options.image_column,
           "The column of pictures that becomes the field 'image'")
      .set_default("the only column of pictures");
  table
      .add("label-column", options.label_column,
           "The column that becomes the field 'label': whole numbers, or texts of " +
               option_name("classes") + "; none: no column")
      .set_default("the one with classes, or called label");
  table
      .add("id-column", options.id_column,
           "The column that becomes the field 'id': text or whole numbers")
      .set_default("id or __key__, else file and row");
  table.add_names("columns", options.columns, "The other columns to convert").set_default("all");
  table.add("label-offset", options.label_offset,
            "This number is added to labels: -1 if the files count from 1");
  table.add("classes", options.classes,
            "Text file with one class name on each line; without it, the names in the files");
  table
      .add("max-sample-bytes", options.max_sample_bytes,
           "Largest sample; a larger one is a bad sample. Each thread keeps one sample in memory")
      .set_size()
      .set_range(1 << 10, 1LL << 40);
}

}  // namespace ffkit
