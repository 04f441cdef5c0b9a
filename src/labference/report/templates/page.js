for (const bar of document.querySelectorAll(".filters")) {
  const episodes = document.getElementById(bar.dataset.list).querySelectorAll(".episode");
  bar.hidden = false;
  bar.addEventListener("click", (click) => {
    const wanted = click.target.dataset.show;
    if (wanted === undefined) return;
    for (const button of bar.children) button.setAttribute("aria-pressed", button === click.target);
    for (const episode of episodes) episode.hidden = wanted !== "" && !episode.matches(wanted);
  });
}
function openTarget() {
  const episode = location.hash && document.getElementById(location.hash.slice(1));
  if (episode && episode.tagName === "DETAILS") { episode.hidden = false; episode.open = true; episode.scrollIntoView(); }
}
addEventListener("hashchange", openTarget);
openTarget();
