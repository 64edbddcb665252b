/** Reads and labels the checks of a change request. */
import type { ChangeRequestChecks as Checks } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import type { Context } from '../../../context.ts'
import { cyan, dim, green, type Piece, red, yellow } from '../../../terminal/output.ts'
import { duration } from '../../../terminal/time.ts'
import type { ChangeRequestClient } from '../../../requests.ts'

export type Check = Checks['checks'][number]

/** Null from an older server without checks, so that the rest can still be shown. */
export async function getChecksIfKnown(at: ChangeRequestClient): Promise<Checks | null> {
  try {
    return await at.get('/checks')
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return null
    throw error
  }
}

export function checkPiece(status: Check['status']): Piece {
  if (status === 'passed') return green(status)
  if (status === 'failed' || status === 'error') return red(status)
  return status === 'cancelled' ? dim(status) : cyan(status)
}

export function verdictOf({ state, reason, checks }: Checks): Exclude<Piece, string> {
  const named = (...statuses: Check['status'][]) =>
    checks.filter(({ status }) => statuses.includes(status)).map(({ name }) => name)
  switch (state) {
    case 'none':
      return dim('none: svc.toml on the default branch defines no checks')
    case 'not_run':
      return yellow(`not run: ${reason ?? 'they ended without a result'}`)
    case 'running': {
      const bad = named('failed', 'error')
      return cyan(
        `running: ${named('queued', 'running').join(', ')}${bad.length === 0 ? '' : `; failed: ${bad.join(', ')}`}`,
      )
    }
    case 'failed':
      return red(`failed: ${named('failed', 'error').join(', ')}`)
    case 'passed':
      return green(`passed: ${checks.length} of ${checks.length}`)
    default:
      return state satisfies never
  }
}

export function printChecks({ out, io }: Pick<Context, 'out' | 'io'>, { checks }: Checks): void {
  out.table(checks, [
    { title: 'CHECK', of: ({ name }) => name },
    { title: 'STATE', of: ({ status }) => checkPiece(status) },
    { title: 'TOOK', of: (check) => tookOf(check, io.now()) },
    { title: 'COMMAND', of: ({ command }) => dim(command), shrink: true },
    { title: 'WHY', of: ({ reason }) => reason ?? '', shrink: true },
  ])
}

function tookOf({ started_at: began, ended_at: ended }: Check, now: number): string {
  return began === null ? '' : duration(Math.max(0, (ended === null ? now : Date.parse(ended)) - Date.parse(began)))
}
