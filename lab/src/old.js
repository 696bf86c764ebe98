// What a browser says that cannot run the rest of the page; so this is written in old JavaScript.
(function () {
  function say(words) {
    document.getElementById("notice").textContent = words;
  }
  if (!("noModule" in document.createElement("script"))) say("This browser is too old for this page: use a newer one.");
  window.addEventListener("error", function (event) {
    if (/\bready\b/.test(document.body.className)) return;
    if (event.target.src) say("This page is not complete: " + event.target.src.split("/").pop() + " is missing.");
    else say("This browser cannot run this page: use a newer one. (" + event.message + ")");
  }, true); // missing scripts are told to those that capture
})();
