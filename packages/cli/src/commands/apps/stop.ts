import { command } from '../../arguments/command.ts'
import { appArg } from './labels.ts'

export const stop = command({
  summary: 'Stop an app until it is deployed again',
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps stop site', 'svc apps stop site --json'],
  async run({ out, project, next }, { args }) {
    const app = await project.post('/apps/{slug}/stop', { path: { slug: args.app } })
    out.done(app, `Stopped ${app.slug}`)
    out.note(`Start it again: ${next(`svc apps deploy ${app.slug}`)}`)
  },
})
