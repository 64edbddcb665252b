import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { green } from '../../terminal/output.ts'
import { writeSettings } from '../../self-host/settings.ts'
import { runningServer } from '../../self-host/state.ts'
import { askSettings } from '../../self-host/wizard.ts'

export const configure = command({
  summary: 'Answer the three questions of the first start again',
  scope: 'nothing',
  examples: ['svc self-host configure', 'svc self-host env set SVC_APP_PROVIDER=none'],
  async run(ctx) {
    if (!ctx.interactive)
      throw new UsageError('The questions need a terminal', {
        hint: 'Without one, set the settings by hand.',
        next: ['svc self-host env ls', 'svc self-host env set SVC_APP_PROVIDER=local SVC_CONNECTOR_PROVIDER=mcp'],
      })
    const path = await writeSettings(ctx, await askSettings(ctx))
    ctx.out.line(green('✓ '), `Saved in ${path}`)
    if ((await runningServer(ctx)) !== null) ctx.out.note('Applies at the next start: svc self-host stop, then start.')
  },
})
