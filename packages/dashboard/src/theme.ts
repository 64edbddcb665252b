/** Light, dark, or as the system says; kept on this browser. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'svc-theme'

export function theme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(next: Theme = theme()): void {
  if (next === 'system') {
    localStorage.removeItem(key)
    delete document.documentElement.dataset.theme
  } else {
    localStorage.setItem(key, next)
    document.documentElement.dataset.theme = next
  }
}
