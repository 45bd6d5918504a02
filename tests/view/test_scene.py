"""Scenes: one file that holds the motion, whatever the bodies are called."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from support import example

import kreisel as kr
from kreisel.groups import S3, SO3, convert
from kreisel.view import scene
from kreisel.view.scene import scene_data


@pytest.fixture(scope="module")
def top():
    return kr.simulate(kr.models.heavy_top(), until=0.2, step=2**-10)


class Page(HTMLParser):
    """The elements of a page, and the text within each kind."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.ids = [], {}, {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append((tag, dict(attributes).get("id")))
        self.ids[dict(attributes).get("id")] = tag
        if tag in ("meta", "input", "path"):
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, f"</{tag}> closes nothing"

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        for key in self.open[-1] if self.open else ():
            self.text[key] = self.text.get(key, "") + data


def written(sol, folder, **options):
    text = scene(sol, folder / "new" / "scene.html", **options).read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open, "an element is not closed"
    return text, page, json.loads(page.text["data"])


def test_the_page_holds_the_motion(top, tmp_path):
    text, page, data = written(top, tmp_path)
    assert {"play", "slider", "speed", "clock", "energy"} <= page.ids.keys()
    assert page.text["title"] == "top: RATTLie"
    assert "{{" not in text
    t = np.linspace(data["start"], data["stop"], data["frames"])
    q = top(t).q
    (body,) = data["bodies"]
    np.testing.assert_allclose(np.reshape(body["x"], (-1, 3)), q[:, 4:], rtol=0, atol=1e-6)
    p = np.reshape(body["q"], (-1, 4))
    np.testing.assert_allclose(np.abs(np.sum(p * q[:, :4], axis=1)), 1, rtol=0, atol=3e-6)
    assert np.sum(p[1:] * p[:-1], axis=1).min() > 0.9, "from frame to frame the short way round"
    energy = data["energy"]["start"] + np.array(data["energy"]["change"])
    np.testing.assert_allclose(energy, np.interp(t, top.t, top.energy), rtol=1e-6)


def test_nothing_comes_from_elsewhere(top, tmp_path):
    text = written(top, tmp_path)[0]
    assert "http" not in text
    assert not re.search(r"(src|href)\s*=|@import|url\(", text)


@pytest.mark.parametrize("name", ["</script>", "<!--<script>", '"quoted" & \\u0041', "Kreisel für Größe", "{{data}}"])
def test_names_do_no_harm(tmp_path, name):
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body(name, 1.0, (0.1, 0.2, 0.25))
    text, page, data = written(kr.simulate(m.system(), until=0.1, step=0.01), tmp_path)
    assert data["bodies"][0]["name"] == name
    assert page.text["title"] == f"{name}: RATTLie"
    assert len(re.findall("<script", text)) == len(re.findall("</script>", text)) == 2


def test_frames(top):
    assert scene_data(top)["frames"] >= 1 + 150 * 0.2 / 0.5, "150 rad/s are resolved"
    assert scene_data(top, fps=5000)["frames"] == 1001
    with pytest.raises(ValueError, match="fps must be positive"):
        scene_data(top, fps=0)


@pytest.mark.parametrize("formulation", ["S3", "SO3", "S3xR3", "SE3", "UDQ"])
def test_every_formulation_gives_the_same_scene(top, formulation):
    other = kr.simulate(kr.models.heavy_top(formulation), until=0.2, step=2**-10)
    expected, data = (scene_data(sol) for sol in (top, other))
    (a,), (b,) = expected["bodies"], data["bodies"]
    assert a["shape"]["size"] == b["shape"]["size"]
    np.testing.assert_allclose(b["x"], a["x"], atol=3e-3)  # the errors of the simulations themselves
    assert data["ground"]["height"] == pytest.approx(expected["ground"]["height"], abs=3e-3)
    (link,) = data["links"]
    assert link["kind"] == "joint"
    assert [end["body"] for end in link["ends"]] == [None, "top"]
    assert link["ends"][1]["at"] == [0, -1, 0]


def moments(shape):
    """Moments of inertia per mass of an evenly filled box or cylinder about its principal axes."""
    a, b, c = np.square(shape["size"])
    return [(a / 4 + c / 3) / 4, (b / 4 + c / 3) / 4, a / 8] if shape["kind"] == "disc" else [(b + c) / 12, (a + c) / 12, (a + b) / 12]


@pytest.mark.parametrize(
    ("inertia", "kind"),
    [((0.1, 0.2, 0.25), "box"), ((0.2, 0.2, 0.2), "box"), ((0.3, 0.2, 0.2), "disc"), ((0.2, 0.2, 0.1), "disc"), ((0.2, 0.11, 0.2), "disc")],
)
def test_a_body_looks_like_its_inertia(inertia, kind):
    turn = SO3.matrix(SO3.exp([0.3, -0.5, 0.8]))
    J = turn @ np.diag(inertia) @ turn.T
    m = kr.Mechanism()
    m.body("body", 2.0, J)
    data = scene_data(kr.simulate(m.system(), until=0.1, step=0.01))
    shape = data["bodies"][0]["shape"]
    assert shape["kind"] == kind
    axes = SO3.matrix(convert(shape["q"] / np.linalg.norm(shape["q"]), S3, SO3))
    np.testing.assert_allclose(axes @ np.diag(2.0 * np.array(moments(shape))) @ axes.T, J, rtol=0, atol=1e-5)
    assert data["ground"] is None


def test_a_disk_rolls_on_the_ground():
    ground = scene_data(kr.simulate(kr.models.rolling_disk(), until=0.5, step=2**-9))["ground"]
    assert ground["normal"] == [0, 0, 1]
    assert ground["height"] == pytest.approx(0, abs=1e-6)


def mixed():
    m = kr.Mechanism(gravity=(0, -9.81, 0))
    m.body("arm", 1.0, (0.1, 0.12, 0.03), position=(0, 0.5, 0))
    m.point("ball", 1.0, position=(0.5, 0.5, 0.5))
    m.scalar("winch", 1.0)
    m.joint(kr.Spherical("ground", "arm", at_b=(0, -0.5, 0)))
    m.force(kr.Spring("arm", "ball", stiffness=40, at_a=(0, 0.2, 0)))
    return kr.simulate(m.system(), until=0.1, step=1e-2)


def test_points_springs_and_what_has_no_place():
    data = scene_data(mixed())
    arm, ball = data["bodies"]
    assert (arm["name"], ball["name"], ball["shape"]["kind"]) == ("arm", "ball", "point")
    assert "q" not in ball
    assert sorted(link["kind"] for link in data["links"]) == ["joint", "spring"]
    assert data["ground"]["normal"] == [0, 1, 0]


def test_some_bodies_only():
    data = scene_data(mixed(), bodies=["ball"], trail=False)
    assert [b["name"] for b in data["bodies"]] == ["ball"]
    assert data["links"] == []
    assert data["trail"] is False


@pytest.mark.parametrize(
    ("bodies", "error", "message"),
    [
        (["leg"], KeyError, "there is no body 'leg'; there are"),
        (["winch"], TypeError, "'winch' cannot be shown"),
        ([], ValueError, "nothing to show"),
    ],
)
def test_bodies_that_cannot_be_shown(tmp_path, bodies, error, message):
    with pytest.raises(error, match=message):
        scene(mixed(), tmp_path / "scene.html", bodies=bodies)
    assert not list(tmp_path.iterdir())


def test_nothing_to_show(tmp_path):
    with pytest.raises(ValueError, match="no node of the system has a place in space"):
        scene(kr.simulate(kr.models.oscillator(), until=0.1, step=0.01), tmp_path / "scene.html")


def test_the_example(tmp_path):
    top = example("top")
    assert "RATTLie" in top.table()
    assert max(np.abs(sol.energy / sol.energy[0] - 1).max() for sol in top.runs) < 1e-4
    top.picture(tmp_path / "out" / "top.png")
    assert (tmp_path / "out" / "top.png").stat().st_size > 10_000


@pytest.fixture(scope="module")
def flexible():
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    section = kr.Section.rectangle(0.05, 0.01, E=5e7, nu=0.3, rho=1000)
    rod = m.beam("rod", 1.0, 4, section, curve=kr.straight(direction=(1, 0, 0)), start="pinned")
    m.body("tip", 0.3, (1e-3, 1e-3, 1e-3), position=(1.1, 0, 0))
    m.joint(kr.Spherical(rod.end, "tip", at_b=(-0.1, 0, 0), name="hinge"))
    m.beam("strip", 0.5, 3, section, curve=kr.straight((0, 1, 0), (1, 0, 0)), start="clamped")
    m.shell("plate", (0.4, 0.2), (2, 1), kr.Layer.isotropic(0.01, E=5e7, nu=0.3, rho=1000))
    return kr.simulate(m.system(), until=0.1, step=1e-3, method=kr.GeneralizedAlpha(0.8))


def test_beams_and_shells_are_drawn_as_a_whole(flexible, tmp_path):
    _, page, data = written(flexible, tmp_path)
    assert page.text["title"] == "tip, rod, strip: GeneralizedAlpha"
    assert [f["name"] for f in data["flexible"]] == ["rod", "strip", "plate"]
    assert {b["name"]: b["shape"]["kind"] for b in data["bodies"]} == {"tip": "box", "rod[0]": "hidden", "rod[4]": "hidden"}
    rod, strip, plate = data["flexible"]
    t = np.linspace(data["start"], data["stop"], data["frames"])
    s = np.linspace(0, 1, rod["points"])
    np.testing.assert_allclose(np.reshape(rod["x"], (len(t), -1, 3)), flexible.beam("rod").position_at(s, t), rtol=0, atol=1e-5)
    np.testing.assert_allclose(rod["sides"], [0.05, 0.01])
    frames = convert(np.reshape(rod["q"], (-1, 4)) / np.linalg.norm(np.reshape(rod["q"], (-1, 4)), axis=1)[:, None], S3, SO3)
    np.testing.assert_allclose(frames.reshape(len(t), -1, 3, 3), flexible.beam("rod").rotation_at(s, t), rtol=0, atol=3e-4)
    assert (rod["held"], strip["held"]) == ([], [0])
    assert (plate["points"], plate["rows"]) == (6, 3)
    np.testing.assert_allclose(np.reshape(plate["x"], (len(t), 6, 3)), flexible.shell("plate").position(t), rtol=0, atol=1e-5)
    low = min(np.reshape(f["x"], (-1, 3))[:, 2].min() for f in data["flexible"])
    assert data["ground"]["height"] < low


def test_beams_can_be_chosen(flexible):
    data = scene_data(flexible, "strip")
    assert [f["name"] for f in data["flexible"]] == ["strip"]
    assert data["bodies"] == data["links"] == []


def test_scenes_of_long_beams_stay_small():
    sol = kr.simulate(kr.models.flying_spaghetti(segments=200), until=2e-3, step=1e-4)
    (beam,) = scene_data(sol, fps=1e6)["flexible"]
    assert beam["points"] == 121
    assert len(beam["x"]) + len(beam["q"]) < 1.1e6


def test_coarse_directors(tmp_path):
    """Between far recorded times directors are not orthonormal; the scene shows the nearest rotations."""
    sol = kr.simulate(kr.models.three_link(rates=(2.0, 0, 0)), 1, 0.2, kr.BEM())
    text = kr.view.scene(sol, tmp_path / "coarse.html").read_text()
    assert "link 1" in text
