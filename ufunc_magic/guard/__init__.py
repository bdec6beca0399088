"""The helper process: new code runs there first (``trial``), and code that is not trusted always (``sandbox``).

``process`` talks to ``helper``, which forks for every request; a crash there costs this process nothing.
"""
