"""Tests that convert objects of other packages."""

from __future__ import annotations

import numpy as np
import pytest

import scibin.asdf
from scibin.asdf import Tagged

asdf = pytest.importorskip("asdf")


def test_a_converted_gwcs_object_computes_the_same_world_coordinates() -> None:
    pytest.importorskip("gwcs")
    wcs = example_wcs()
    asdf.AsdfFile({"meta": {"wcs": wcs, "other": 1}, "data": np.zeros(3)}).write_to("a.asdf")
    node = scibin.asdf.open("a.asdf")["meta/wcs"]
    np.testing.assert_allclose(node.to_object()(10.0, 20.0), wcs(10.0, 20.0), rtol=1e-12)
    scibin.asdf.write("b.asdf", {"wcs": Tagged.from_object(wcs), "copy": node})
    with asdf.open("b.asdf") as f:
        for key in ["wcs", "copy"]:
            np.testing.assert_allclose(f[key](10.0, 20.0), wcs(10.0, 20.0), rtol=1e-12)


def example_wcs():  # type: ignore[no-untyped-def]
    from astropy import coordinates
    from astropy import units as u
    from astropy.modeling import models
    from gwcs import WCS, coordinate_frames

    shift = models.Shift(-5) & models.Shift(-5)
    scale = models.Scale(0.1 / 3600) & models.Scale(0.1 / 3600)
    rotation = models.RotateNative2Celestial(5.6, -72.05, 180)
    pixels = coordinate_frames.Frame2D(name="detector", axes_order=(0, 1), unit=(u.pix, u.pix))
    sky = coordinate_frames.CelestialFrame(reference_frame=coordinates.ICRS(), name="icrs")
    return WCS([(pixels, shift | scale | models.Pix2Sky_TAN() | rotation), (sky, None)])


def test_a_quantity_keeps_its_unit_and_its_block() -> None:
    pytest.importorskip("asdf_astropy")
    from astropy import units as u

    quantity = np.arange(5.0) * u.km
    with pytest.raises(TypeError, match=r"Tagged\.from_object"):
        scibin.asdf.dumps({"q": quantity})
    f = scibin.asdf.loads(scibin.asdf.dumps({"q": Tagged.from_object(quantity)}))
    back = f["q"].to_object()
    assert back.unit == u.km
    np.testing.assert_array_equal(back.value, quantity.value)


@pytest.mark.filterwarnings("ignore:meta.filename")
def test_a_roman_file_written_by_scibin_is_opened_by_roman_datamodels() -> None:
    rdm = pytest.importorskip("roman_datamodels")
    from roman_datamodels import datamodels

    model = datamodels.ImageModel.create_fake_data(shape=(8, 8))
    model.data[2, 3] = 7
    model.save("theirs.asdf")
    with scibin.asdf.open("theirs.asdf") as f:
        assert f["roman/data"][2, 3] == 7
        scibin.asdf.write("copy.asdf", f)
        scibin.asdf.write("plain.asdf", f.to_dict(tagged=True))
        assert f["roman/meta/exposure"].to_object() is not None
    for path in ["copy.asdf", "plain.asdf"]:
        with rdm.open(path) as copy:
            assert copy.data[2, 3] == 7
            assert copy.meta.instrument.name == model.meta.instrument.name


def test_an_object_without_a_tag_raises_type_error() -> None:
    with pytest.raises(TypeError, match="tag"):
        Tagged.from_object({"a": 1})
