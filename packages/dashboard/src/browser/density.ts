/** How close the rows of lists are; stored in this browser. */
import { appearanceChanged } from './appearance.ts'

export type Density = 'comfortable' | 'compact'

const key = 'svc-density'

export function density(): Density {
  return localStorage.getItem(key) === 'compact' ? 'compact' : 'comfortable'
}

export function applyDensity(next: Density = density()): void {
  if (next === 'comfortable') {
    localStorage.removeItem(key)
    delete document.documentElement.dataset.density
  } else {
    localStorage.setItem(key, next)
    document.documentElement.dataset.density = next
  }
  appearanceChanged()
}
