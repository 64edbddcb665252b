import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { bold, dim, green, red, type Styled, yellow } from '../../terminal/output.ts'
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
  summary: 'Check this machine: whether sessions can start, how well they are isolated, how to fix problems',
  about: ["Needs no running server and leaves nothing running. Exit code 1 if sessions can't start."],
  scope: 'nothing',
  examples: ['svc self-host doctor', 'svc self-host doctor --json'],
  async run(ctx) {
    const { out } = ctx
    const report = await askServerProgram<Report>(ctx, '--doctor', {
      ms: doctorMs,
      otherwise: 'The check of this machine failed.',
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
    const why = report.driver === null ? 'SVC_SANDBOX_DRIVER is none.' : 'See the problems above.'
    throw new Refusal('not_available', `Sessions can't start on this machine. ${why}`)
  },
})
