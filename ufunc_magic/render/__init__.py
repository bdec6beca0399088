"""Reports, comparisons and other views of a cell as text, HTML, SVG and JSON.

The room turns measured and compiled values into text; it measures and prints nothing.

``tables``       rows of a comparison, numbers in words, tables
``figure``       time over sizes, drawn as SVG
``comparison``   `Comparison`: the table, its file, what changed since another one
``report``       `Report`: what a cell shows after it ran; the description of object code
``source_views`` assembly, vectorization remarks, generated C, by the lines of the cell; reads ``assembly``
``progress``     the progress line of a longer measurement
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
