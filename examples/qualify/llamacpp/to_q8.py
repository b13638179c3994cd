"""to_q8.py FROM TO: writes a copy of a Q4_1 GGUF model whose 4-bit weights are stored in 8 bits.

The weights keep their rounded values; what changes is how many bytes a token has to read.
"""

import sys

from gguf import GGMLQuantizationType as Stored
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize, quantize

MOSTLY_Q8_0 = 7  # llama.cpp's number for the file type
ARCHITECTURE, FILE_TYPE = "general.architecture", "general.file_type"

source, target = sys.argv[1:]
reader = GGUFReader(source)
writer = GGUFWriter(target, reader.fields[ARCHITECTURE].contents())

for name, field in reader.fields.items():
    if name.startswith("GGUF.") or name == ARCHITECTURE:
        continue  # the writer makes these itself
    value = MOSTLY_Q8_0 if name == FILE_TYPE else field.contents()
    is_list = field.types[0] == GGUFValueType.ARRAY
    writer.add_key_value(name, value, field.types[0], sub_type=field.types[-1] if is_list else None)

for tensor in reader.tensors:
    data, stored = tensor.data, tensor.tensor_type
    if stored == Stored.Q4_1:
        data, stored = quantize(dequantize(data, stored), Stored.Q8_0), Stored.Q8_0
    writer.add_tensor(tensor.name, data, raw_shape=data.shape, raw_dtype=stored)

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
