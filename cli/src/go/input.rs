//! The input of a network: planes and numbers, as one row.

use oncilla_go::Symmetry;
use oncilla_go::planes::{GLOBAL, Planes, SPATIAL};
use oncilla_go::profile::METADATA;

/// Appends the row of a position that is seen through a symmetry, followed by the metadata that a network for human
/// play reads.
pub fn add(planes: &Planes, symmetry: Symmetry, metadata: Option<&[f32; METADATA]>, input: &mut Vec<f32>) {
    let start = input.len();
    let spatial = SPATIAL * planes.size().area();
    input.resize(start + spatial + GLOBAL, 0.0);
    planes.write_spatial(symmetry, &mut input[start..start + spatial]);
    input[start + spatial..].copy_from_slice(planes.global());
    input.extend(metadata.into_iter().flatten());
}
