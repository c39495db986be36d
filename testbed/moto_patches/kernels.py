"""Amazon's images: kernels, with which paravirtual instances boot, and one to launch from."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.amis import Ami, AmiBackend

from testbed.moto_patches.images import keep_devices
from testbed.moto_patches.patching import Original, Patches

PATCHES = Patches()

AMAZON = "137112412989"
KERNELS = (
    ("aki-88aa75e1", "x86_64", "ec2-public-images/pv-grub-hd0_1.03-x86_64.gz.manifest.xml"),
    ("aki-919dcaf8", "x86_64", "ec2-public-images/pv-grub-hd0_1.04-x86_64.gz.manifest.xml"),
    ("aki-499ccb20", "x86_64", "ec2-public-images/pv-grub-hd00_1.04-x86_64.gz.manifest.xml"),
    ("aki-8f9dcae6", "i386", "ec2-public-images/pv-grub-hd0_1.04-i386.gz.manifest.xml"),
)
"""Id, architecture, location."""


PUBLIC = "ami-0123456789abcdef1"


def lay_public(backend: Any) -> None:
    """Put the public image into a region."""
    if PUBLIC not in backend.amis:
        image: Any = Ami(backend, PUBLIC, name="al2023", owner_id=AMAZON, owner_alias="amazon", public=True)
        image.testbed_devices = []
        backend.amis[PUBLIC] = image


def lay(backend: Any) -> None:
    """Put the kernel images into a region."""
    for kernel_id, architecture, location in KERNELS:
        if kernel_id in backend.amis:
            continue
        image = Ami(
            backend,
            kernel_id,
            name=location.partition("/")[2].partition(".gz")[0],
            owner_id=AMAZON,
            owner_alias="amazon",
            public=True,
            architecture=architecture,
            virtualization_type="paravirtual",
            image_type="kernel",
            image_location=location,
        )
        keep_devices(image, [])
        backend.amis[kernel_id] = image


@PATCHES.around(AmiBackend, "describe_images")
def described_kernels(
    original: Original,
    backend: Any,
    ami_ids: list[str] | None = None,
    filters: dict[str, Any] | None = None,
    **keywords: Any,
) -> Any:
    """EC2 has images of Amazon's; moto had none. The first search for them creates them."""
    if "kernel" in (filters or {}).get("image-type", []):
        lay(backend)
    if keywords.get("owners") == ["amazon"] and not filters:
        lay_public(backend)
    return original(backend, ami_ids=ami_ids, filters=filters, **keywords)
