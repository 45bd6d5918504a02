"""Stability: of equilibria and steady motions, of periodic motions, and of methods.

>>> import kreisel as kr
>>> top = kr.stability.equilibrium(kr.models.extended_top("SE3", stiffness=100.0, damping=1.0))
>>> kr.stability.linearise(top).stability
'asymptotically stable'
>>> float(kr.stability.spectral_radius(kr.GeneralizedAlpha(rho_inf=0.9), 10.0).round(10))
0.9837630771
"""

from kreisel.stability.balance import Equilibrium, equilibria, equilibrium
from kreisel.stability.energy import modified_energy
from kreisel.stability.geometry import dual_basis, first_fundamental, hilbert_distance, surface_gradient, tangent_basis
from kreisel.stability.linear import Linearisation, RootLocus, linearise, root_locus
from kreisel.stability.lyapunov import Lyapunov
from kreisel.stability.oscillation import amplification, spectral_radius
from kreisel.stability.region import bounded, confined, first_unstable
from kreisel.stability.steps import floquet, step_eigenvalues

__all__ = [
    "Equilibrium",
    "Linearisation",
    "Lyapunov",
    "RootLocus",
    "amplification",
    "bounded",
    "confined",
    "dual_basis",
    "equilibria",
    "equilibrium",
    "first_fundamental",
    "first_unstable",
    "floquet",
    "hilbert_distance",
    "linearise",
    "modified_energy",
    "root_locus",
    "spectral_radius",
    "step_eigenvalues",
    "surface_gradient",
    "tangent_basis",
]
