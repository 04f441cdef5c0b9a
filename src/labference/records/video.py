"""MP4 videos of registered cameras (H.264 through PyAV)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np


class VideoWriter:
    """Encode (h, w, 3) uint8 frames to `path` at `rate_hz`; sides are cut to even lengths, which H.264 needs."""

    def __init__(self, path: Path, shape: tuple[int, int], rate_hz: float) -> None:
        self._height, self._width = (side - side % 2 for side in shape)
        self._container = av.open(str(path), "w")
        self._stream = self._container.add_stream("libx264", rate=Fraction(rate_hz).limit_denominator(1000))
        self._stream.width, self._stream.height = self._width, self._height
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"crf": "23", "preset": "veryfast", "threads": "1"}

    def write(self, rgb: np.ndarray) -> None:
        """Append one frame."""
        cut = np.ascontiguousarray(rgb[: self._height, : self._width])
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(cut, format="rgb24")))

    def close(self) -> str:
        """Finish the file; return "closed" or what the encoder said."""
        try:
            self._container.mux(self._stream.encode())
            self._container.close()
        except av.error.FFmpegError as error:
            return str(error)
        return "closed"
