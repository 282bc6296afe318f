"""Files: written whole or not at all, to nobody else's place; read only where they are plain files."""

from hideseek.files.folders import must_be_new, new_folder, own_folder
from hideseek.files.leftovers import clear_leftovers, locked
from hideseek.files.reading import check_plain, parsed, read_bytes, read_lines, read_record
from hideseek.files.room import amount, need_memory, need_space
from hideseek.files.tensors import content, tensor_header, write_tensors
from hideseek.files.writing import explained, new_file

__all__ = [
    "amount",
    "check_plain",
    "clear_leftovers",
    "content",
    "explained",
    "locked",
    "must_be_new",
    "need_memory",
    "need_space",
    "new_file",
    "new_folder",
    "own_folder",
    "parsed",
    "read_bytes",
    "read_lines",
    "read_record",
    "tensor_header",
    "write_tensors",
]
