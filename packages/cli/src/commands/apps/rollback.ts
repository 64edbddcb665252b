import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { recordDeployEvent } from './watch.ts'
import { appArg } from './labels.ts'

export const rollback = command({
  summary: 'Deploy the commit of an earlier deploy',
  about: [
    'Without --to, goes back to the previous deploy that served; repeat to go further back. The next change on the default branch deploys as usual.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: {
    to: { kind: 'text', summary: 'Number or id of an earlier deploy', value: 'deploy' },
    wait: { kind: 'switch', summary: 'Wait until it serves; fail with the reason if it does not' },
  },
  examples: ['svc apps rollback site', 'svc apps rollback site --to 3 --wait'],
  async run(ctx, { args, flags }) {
    const to = deployOf(flags.to)
    const project = await ctx.project()
    const asked = await project.post('/apps/{slug}/rollback', {
      path: { slug: args.app },
      once: true,
      body: to === undefined ? {} : { deploy: to },
    })
    await recordDeployEvent(ctx, project, asked, flags.wait === true)
  },
})

function deployOf(text: string | undefined): number | string | undefined {
  if (text === undefined) return undefined
  const [, number] = /^#?([1-9]\d{0,8})$/.exec(text) ?? []
  if (number !== undefined) return Number(number)
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text
  throw new UsageError(`${JSON.stringify(text)} is not the number or id of a deploy`, {
    hint: '`svc apps show <app>` lists the deploys.',
  })
}
