import type { App, AppDeploy } from '@svc/sdk'
import { dim, green, type Piece, red, yellow } from '../../terminal/output.ts'

export const appArg = { summary: 'Slug of the app in svc.toml', names: 'app' } as const

const colours: Record<App['state'] | AppDeploy['status'], (text: string) => Piece> = {
  ...{ running: green, restarting: yellow, deploying: yellow, stopped: dim, failed: red, disabled: dim, off: dim },
  ...{ waiting: yellow, queued: yellow, building: yellow, starting: yellow, replaced: dim, cancelled: dim },
}

export const statePiece = (state: App['state'] | AppDeploy['status']): Piece => colours[state](state)

export const shortCommit = (sha: string) => sha.slice(0, 12)

export function causeOf({ cause, rollback_of }: AppDeploy): string {
  if (cause === 'rollback') return `rollback to #${rollback_of}`
  return cause === 'request' ? 'requested' : 'default branch'
}

export const sourceOf = ({ command, static_dir }: App) => command ?? `files of ${static_dir ?? ''}`
