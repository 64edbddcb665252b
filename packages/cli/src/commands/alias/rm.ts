import { command } from '../../arguments/command.ts'
import { changeConfig } from '../../config/config-file.ts'
import { Refusal } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'

export const rm = command({
  summary: 'Remove an alias',
  scope: 'nothing',
  args: { name: { summary: 'Name of the alias' } },
  examples: ['svc alias rm co', 'svc alias rm co --json'],
  async run(ctx, { args: { name } }) {
    if (!Object.hasOwn((await ctx.config()).aliases ?? {}, name))
      throw new Refusal('not_found', `There is no alias ${JSON.stringify(name)}`, { next: ['svc alias ls'] })
    await changeConfig(ctx.configPath(), ({ aliases = {} }) => delete aliases[name])
    ctx.out.done({ removed: name }, 'Removed ', bold(name))
  },
})
