"""The cache of compiled code: complete files, found by key.

The store takes machine code under a key, with a record that describes it, and returns an `Entry`: the record, the
bytes and the file to open.  `open_default` is the cache of this process; `make_key` computes a key from everything
that can change the code but the files that a compiler reads, which are `Inputs`.  ``cache`` has the public class,
``manifest`` the files of each object, ``atomic_file`` writes and reads complete files, ``paths`` checks which folders
are safe, and ``project_folder`` writes folders that the user names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
