//! Describes a network of KataGo's, for `oncilla describenet`.

use oncilla_nets::NetError;
use oncilla_nets::katago::{Block, GLOBALS, METADATA, Model, PLANES, Pass, Trunk};
use std::path::Path;

/// A label and what is said of it, each.
pub fn rows(path: &Path) -> Result<Vec<(&'static str, String)>, NetError> {
    let model = Model::read(path)?;
    let (trunk, policy, value) = (&model.trunk, &model.policy, &model.value);
    let pass = match policy.pass {
        Pass::Linear(_) => "a pass from the pooled ones",
        Pass::Hidden { .. } => "a pass from the pooled ones through a hidden layer",
    };
    let mut rows = vec![
        ("Network", path.display().to_string()),
        ("Game", "Go".to_string()),
        ("Name", model.name.clone()),
        ("Format", format!("KataGo, version {}", model.version)),
        ("Blocks", blocks(trunk)),
        ("Trunk channels", trunk.channels.to_string()),
        ("Mid channels", trunk.mid.to_string()),
        ("Regular channels", trunk.regular.to_string()),
        ("Global-pooling channels", trunk.pooled.to_string()),
        ("First kernel", format!("{0}x{0}", trunk.conv.kernel)),
        ("Input planes", PLANES.to_string()),
        ("Global inputs", GLOBALS.to_string()),
        ("Metadata inputs", metadata(trunk)),
        (
            "Policy head",
            format!(
                "{} channels, {} pooled, {} of logits, {pass}",
                policy.conv.outputs, policy.pooled.outputs, policy.points.outputs
            ),
        ),
        (
            "Value head",
            format!("{} channels, {} hidden: win, loss, no result", value.conv.outputs, value.hidden.outputs),
        ),
        ("Score head", scores(value.scores.outputs).to_string()),
        ("Ownership head", "yes".to_string()),
        ("Parameters", model.parameters.to_string()),
    ];
    rows.retain(|(_, said)| !said.is_empty());
    Ok(rows)
}

/// Of a network for human play; empty for others.
fn metadata(trunk: &Trunk) -> String {
    trunk.metadata.as_ref().map_or(String::new(), |encoder| {
        format!("{METADATA}, encoded in {} and {} channels (human play)", encoder.first.outputs, encoder.second.outputs)
    })
}

/// How many of each kind, those within nested ones too.
fn blocks(trunk: &Trunk) -> String {
    let (mut nested, mut inner) = (0, Vec::new());
    for block in &trunk.blocks {
        if let Block::Nested { blocks, .. } = block {
            nested += 1;
            inner.extend(blocks);
        }
    }
    let outer: Vec<&Block> = trunk.blocks.iter().collect();
    let mut text = format!("{}: {}, {nested} nested", outer.len(), kinds(&outer));
    if nested > 0 {
        text += &format!("; within those {}", kinds(&inner));
    }
    text
}

/// How many there are of those that hold no others; what only networks with attention have is left out of the rest.
fn kinds(blocks: &[&Block]) -> String {
    let count = |is: fn(&Block) -> bool| blocks.iter().filter(|block| is(block)).count();
    let ordinary = count(|block| matches!(block, Block::Ordinary { .. }));
    let pooled = count(|block| matches!(block, Block::Pooling { .. }));
    let attention = count(|block| matches!(block, Block::Attention(_)));
    let feed_forward = count(|block| matches!(block, Block::FeedForward(_)));
    let mut text = format!("{ordinary} ordinary, {pooled} with global pooling");
    if attention + feed_forward > 0 {
        text += &format!(", {attention} of attention, {feed_forward} feed-forward");
    }
    text
}

/// Before version 9 there are four numbers.
fn scores(outputs: usize) -> &'static str {
    match outputs {
        4 => "mean, deviation, lead, variance in time",
        _ => "mean, deviation, lead, variance in time, short-term errors of value and score",
    }
}
