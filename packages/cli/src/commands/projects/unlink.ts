import { command } from '../../command.ts'
import { findLinkPath, removeLink } from '../../link-file.ts'
import { green } from '../../output.ts'

export const unlink = command({
  summary: 'Remove the link of this folder, or of the nearest linked one above it',
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc projects unlink', 'svc projects unlink --json'],
  async run(ctx) {
    // Only its path is needed: a file that cannot be read can be removed all the same.
    const path = await findLinkPath(ctx.io.cwd)
    if (path !== null) await removeLink(path)
    if (ctx.out.json) ctx.out.document({ removed: path })
    else if (path === null) ctx.out.note('No folder here is linked.')
    else ctx.out.line(green('✓ '), `Removed ${path}`)
  },
})
