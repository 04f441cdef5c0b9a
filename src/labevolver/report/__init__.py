"""One page that shows belief, proposals, rulings and memory over time, without a server and without the network."""
