"""Reports, comparisons and other views of a cell as text, HTML, SVG and JSON.

The room turns measured and compiled values into text; it measures and prints nothing.

``tables``        rows of a comparison, numbers in words, tables
``comparison``    `Comparison`: its tables in text and HTML
``saved``         JSON, files of comparisons, and the changes between two of them
``figure``        time over sizes, drawn as SVG or on Matplotlib's axes
``report``        `Report`: everything that a cell shows after it ran; the description of object code
``vectorization`` the compiler's report on a cell's loops; reads ``assembly``
``source_views``  assembly, vectorization, generated C, by the lines of the cell
``progress``      the progress line of a longer measurement
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
