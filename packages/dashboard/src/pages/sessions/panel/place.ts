export const panelId = 'session-panel'

/** On a narrow screen, the panel is below the conversation. */
export function scrollToPanel() {
  if (matchMedia('(width < 64rem)').matches) document.getElementById(panelId)?.scrollIntoView()
}

/** The port stays for the next time. */
export function withPanel<Search extends { panel?: 'preview' }>(before: Search, next: 'overview' | 'preview') {
  if (next === 'preview') return { ...before, panel: next }
  const after = { ...before }
  delete after.panel
  return after
}
