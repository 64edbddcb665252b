export const panelId = 'session-panel'

/** On a narrow screen, the panel is below the conversation. */
export function scrollToPanel() {
  if (matchMedia('(width < 64rem)').matches) document.getElementById(panelId)?.scrollIntoView()
}
