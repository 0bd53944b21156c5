"""A session in a window of pyvista: left button on the body or a tool drags it, elsewhere it turns the view.

Keys: r begins again, p pauses, s keeps the session, q closes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.solver import tool_poses
from rheotwin.tensors import padded
from rheotwin.tool_surface import drawn_tools
from rheotwin.touch.show import Show

BODY, SECOND, TOOL, OCHRE = "#c98d4f", "#3f6fb5", "#8a929b", "#b9863b"
PAUSE = 15
"""Milliseconds between two pictures."""


class Window:
    """The picture of a session, and a hand on the plane through what was hit, facing the camera."""

    def __init__(self, show: Show, *, off_screen: bool = False) -> None:
        import pyvista

        self.show = show
        self.plotter: Any = pyvista.Plotter(off_screen=off_screen, title=show.scene()["title"])
        self.surface, self._tool, self._start = show.surface, -1, np.zeros(3)
        self._plane: tuple[Array, Array] | None = None
        triangles = np.insert(self.surface.triangles, 0, 3, axis=1).ravel()
        self.bodies = [pyvista.PolyData(self._places(self._body(k)), triangles) for k in range(self._count)]
        for mesh, colour in zip(self.bodies, (BODY, SECOND), strict=False):
            self.plotter.add_mesh(mesh, color=colour, show_edges=True, edge_opacity=0.3)
        self.tools: list[tuple[Any, Any, Any]] = []
        movable = {tool.row for tool in show.live.tools}
        for row, drawn in enumerate(drawn_tools(show.live.problem)):
            posed = drawn.posed(np.zeros(4), padded(show.live.problem.points))
            mesh = pyvista.PolyData(np.asarray(posed.points, float), np.asarray(posed.faces))
            actor = self.plotter.add_mesh(mesh, color=OCHRE if row in movable else TOOL)
            self.tools.append((drawn, mesh, actor))
        self.plotter.add_text("", name="numbers", font_size=9)
        if show.live.problem.dimension == 2:
            self.plotter.camera_position = "xy"

    @property
    def _count(self) -> int:
        return 1 + (self.show.beside is not None)

    def _body(self, k: int) -> Array:
        beside = self.show.beside
        return self.show.live.simulation.positions if k == 0 or beside is None else beside.positions

    def _places(self, positions: Array) -> Array:
        return padded(positions[self.surface.nodes])

    def refresh(self) -> None:
        """Bring bodies, tools and numbers to where they are."""
        for k, mesh in enumerate(self.bodies):
            mesh.points = self._places(self._body(k)) + np.array([1.1 * self.show.live.problem.extent * k, 0.0, 0.0])
        live = self.show.live
        for (drawn, mesh, _), pose in zip(self.tools, tool_poses(live.problem, live.simulation), strict=True):
            mesh.points = np.asarray(drawn.posed(pose, padded(live.simulation.positions)).points, float)
        size = dict.fromkeys(("hand", *(tool.name for tool in live.problem.tools)), 0.0)
        forces = self.show.loop.forces[-1][1] if self.show.loop.forces else {}
        for name, force in forces.items():
            of = name.split(".")[1]
            size[of] = float(np.hypot(size[of], force))
        lines = [f"{live.time:.2f} s", *(f"force on {name}: {force:.3g} N" for name, force in size.items())]
        self.plotter.add_text("\n".join([*lines, self.show.loop.message]), name="numbers", font_size=9)

    def _ray(self, x: float, y: float) -> tuple[Array, Array]:
        """Return origin and direction of the line of sight through a point of the window, from its lower left."""
        ends = []
        for depth in (0.0, 1.0):
            self.plotter.renderer.SetDisplayPoint(x, y, depth)
            self.plotter.renderer.DisplayToWorld()
            world = np.array(self.plotter.renderer.GetWorldPoint())
            ends.append(world[:3] / world[3])
        return ends[0], (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])

    def press(self, x: float, y: float) -> bool:
        """Take hold of what is to be seen there; tell whether there was anything to take."""
        origin, direction = self._ray(x, y)
        far = origin + 100.0 * self.show.live.problem.extent * direction
        hits = []
        movable = {tool.row for tool in self.show.live.tools}
        for row, mesh in [
            (-1, self.bodies[0]),
            *((row, tool[1]) for row, tool in enumerate(self.tools) if row in movable),
        ]:
            points, faces = mesh.ray_trace(origin, far, first_point=True)
            if len(points):
                hits.append((float(np.linalg.norm(points - origin)), row, np.asarray(points).reshape(3), faces))
        if not hits:
            return False
        _, self._tool, hit, faces = min(hits, key=lambda item: item[0])
        self._plane = (hit, direction)
        if self._tool < 0:
            self.show.press_body(int(faces[0]), hit)
        else:
            (tool,) = (tool for tool in self.show.live.tools if tool.row == self._tool)
            self._start = self.show.live.poses(tool)[-1][:3]
        return True

    def drag(self, x: float, y: float) -> None:
        """Bring the hand below a point of the window."""
        if self._plane is None:
            return
        (hit, view), (origin, direction) = self._plane, self._ray(x, y)
        place = origin + direction * float((hit - origin) @ view) / float(direction @ view)
        if self._tool < 0:
            self.show.lead(place)
        else:
            self.show.lead_tool(self._tool, self._start + place - hit)

    def release(self) -> None:
        """Let go."""
        if self._plane is not None and self._tool < 0:
            self.show.release()
        self._plane = None


def open_window(show: Show, start: Callable[[], None]) -> None:
    """Show the window until it is closed."""
    window = Window(show)
    plotter: Any = window.plotter
    for key, order in (("r", "reset"), ("s", "save")):
        plotter.add_key_event(key, lambda order=order: show.do(order))
    plotter.add_key_event("p", lambda: show.do("go" if show.loop.paused else "pause"))

    def pressed(interactor: Any, _: str) -> None:
        if window.press(*interactor.GetEventPosition()):
            plotter.iren.interactor.GetInteractorStyle().EnabledOff()

    def released(*_: Any) -> None:
        window.release()
        plotter.iren.interactor.GetInteractorStyle().EnabledOn()

    plotter.show(interactive_update=True, auto_close=False)
    interactor = plotter.iren.interactor
    interactor.AddObserver("LeftButtonPressEvent", pressed, 1.0)
    interactor.AddObserver("MouseMoveEvent", lambda caller, _: window.drag(*caller.GetEventPosition()), 1.0)
    interactor.AddObserver("LeftButtonReleaseEvent", released, 1.0)
    start()
    while plotter.render_window is not None and not show.loop.ended:
        window.refresh()
        plotter.update(PAUSE)
