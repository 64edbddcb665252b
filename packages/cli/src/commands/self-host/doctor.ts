import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { bold, dim, green, red, type Styled, yellow } from '../../output.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'

const doctorMs = 60_000

interface Report {
  driver: string | null
  ready: boolean
  drivers: {
    name: string
    findings: { name: string; state: 'good' | 'weak' | 'missing'; says: string; mend: string | null }[]
  }[]
}

const marks: Record<Report['drivers'][number]['findings'][number]['state'], Styled> = {
  good: green('✓ '),
  weak: yellow('! '),
  missing: red('✗ '),
}

export const doctor = command({
  summary: 'Examine this machine: can sessions start, how strong are their walls, what mends them',
  about: ['It needs no running server and starts nothing that stays. Exit code 1 when sessions cannot start.'],
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc self-host doctor', 'svc self-host doctor --json'],
  async run(ctx) {
    const { out } = ctx
    const report = await askServerProgram<Report>(ctx, '--doctor', {
      ms: doctorMs,
      otherwise: 'This machine could not be examined.',
    })
    if (out.json) out.document(report)
    else {
      for (const { name, findings } of report.drivers) {
        out.line(bold(name), name === report.driver ? dim('  what sessions get') : '')
        for (const { name: part, state, says, mend } of findings) {
          out.line('  ', marks[state], `${part}: ${says}`)
          if (mend !== null) out.line('      ', dim(mend))
        }
        out.line()
      }
    }
    if (report.ready) return out.note('Sessions can start here.')
    const why = report.driver === null ? 'SVC_SANDBOX_DRIVER is none.' : 'See what is missing above.'
    throw new Refusal('not_available', `Sessions cannot start on this machine. ${why}`)
  },
})
