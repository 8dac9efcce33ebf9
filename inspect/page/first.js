// Before anything is drawn: the theme, and whether the server's first screen is asked for.
const {dataset, classList} = document.documentElement;
try {
	const theme = localStorage.getItem('ffinspect theme');
	if (theme) dataset.theme = theme;
} catch {}
if (location.hash && location.hash !== document.currentScript.dataset.place) classList.add('elsewhere');
