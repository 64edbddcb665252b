/** Light, dark, or the system's theme; stored in this browser. */
import { appearanceChanged } from './appearance.ts'

export type Theme = 'system' | 'light' | 'dark'

const key = 'svc-theme'

export function theme(): Theme {
  const stored = localStorage.getItem(key)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export function applyTheme(next: Theme = theme()): void {
  if (next === 'system') {
    localStorage.removeItem(key)
    delete document.documentElement.dataset.theme
  } else {
    localStorage.setItem(key, next)
    document.documentElement.dataset.theme = next
  }
  appearanceChanged()
}
