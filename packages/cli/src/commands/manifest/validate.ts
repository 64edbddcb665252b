import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { bold, green, red, yellow } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'

export const validate = command({
  summary: 'Check svc.toml here, without a server',
  about: ['Finds svc.toml in this folder or above. With warnings alone the exit code is 0.'],
  scope: 'nothing',
  args: { file: { summary: 'Path of the file; - reads stdin', optional: true } },
  examples: ['svc manifest validate', 'svc manifest validate - < svc.toml'],
  async run({ io, out }, { args }) {
    const { hasErrors, parseManifest } = await import('@svc/contract/manifest/manifest')
    const { name, raw } =
      args.file === '-' ? { name: 'svc.toml', raw: await readStdin(io, 'the manifest') } : await open(io.cwd, args.file)
    const { issues } = parseManifest(raw)
    const valid = !hasErrors(issues)
    if (out.json) out.document({ valid, issues })
    else {
      for (const { path, message, severity, line, column } of issues)
        out.line(
          bold(`${name}:${line ?? 1}:${column ?? 1}`),
          '  ',
          severity === 'error' ? red('error  ') : yellow('warning'),
          `  ${path}${path === '' ? '' : ' '}${message}`,
        )
      if (valid) out.line(green('✓ '), `${name} is valid${issues.length > 0 ? ', with warnings' : ''}`)
    }
    if (!valid)
      throw new Refusal('manifest_invalid', `${name} has errors; the affected parts are ignored`, {
        hint: 'docs/guide/manifest.md lists every key.',
      })
  },
})

async function open(cwd: string, file: string | undefined): Promise<{ name: string; raw: string }> {
  for (let folder = cwd; ; folder = resolve(folder, '..')) {
    const path = file === undefined ? join(folder, 'svc.toml') : resolve(cwd, file)
    try {
      return { name: relative(cwd, path) || path, raw: await readFile(path, 'utf8') }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (file !== undefined || code !== 'ENOENT')
        throw new Refusal('no_manifest', `${path} can't be read: ${message}`, {})
      if (resolve(folder, '..') === folder)
        throw new Refusal('no_manifest', 'There is no svc.toml in this folder or above it', {
          hint: 'A project also works without one.',
        })
    }
  }
}
