"""Language models behind one thin port: a typed question in, a typed answer with everything it cost out.

`port` needs nothing but the standard library. The rest needs the extra `llm`, and no module here opens a connection
unless a model was named.
"""
