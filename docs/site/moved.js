// A section that has moved left an anchor beside a link to its new place: who comes by the old
// address goes on to it.
function leadOn() {
  const anchor = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const link = anchor && anchor.matches("a:not([href])") && anchor.nextElementSibling;
  if (link && link.matches("a[href]")) location.replace(link.href);
}
addEventListener("hashchange", leadOn);
leadOn();
