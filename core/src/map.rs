//! A second repository: nodes in a sharded hash map.
