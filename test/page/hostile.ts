/** Where it runs or becomes an element, `window.hacked` is set or an element of the class `hacked` exists. */
export const HOSTILE =
  '<img class="hacked" src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'&lt;b&gt;'
