/** Some browsers speak a language that no standard knows (`en-US@posix`), and uPlot asks for it while it is loaded. */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}
