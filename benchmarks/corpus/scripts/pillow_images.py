"""Images drawn, resized, filtered, written in several formats and read again."""

import hashlib
import io
import sys

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

size = int(sys.argv[1])


def shown(name, image):
    print(name, image.mode, image.size, hashlib.sha256(image.tobytes()).hexdigest()[:16])


image = Image.radial_gradient("L").resize((size, size), Image.Resampling.LANCZOS).convert("RGB")
draw = ImageDraw.Draw(image)
draw.ellipse((size // 4, size // 4, size // 2, size // 2), fill="red", outline="white")
draw.text((4, 4), "corpus", font=ImageFont.load_default(14), fill=(0, 255, 0))
shown("drawn", image)
shown("blurred", image.filter(ImageFilter.GaussianBlur(2)).filter(ImageFilter.FIND_EDGES))
shown("rotated", image.rotate(30, Image.Resampling.BICUBIC, expand=True))
shown("enhanced", ImageEnhance.Contrast(ImageOps.autocontrast(image)).enhance(1.4))
shown("difference", ImageChops.difference(image, image.transpose(Image.Transpose.ROTATE_90)))
shown("palette", image.quantize(16))
for kind in ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "JPEG2000"):
    file = io.BytesIO()
    image.save(file, kind)
    file.seek(0)
    shown(kind, Image.open(file).convert("RGB"))
