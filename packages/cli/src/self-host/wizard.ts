/** The three questions of the first start. Each answer is a setting of the server; all can be asked again or set by hand. */
import type { Readable } from 'node:stream'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'

export async function askSettings(ctx: Context): Promise<Record<string, string | null>> {
  const prompts = await import('@clack/prompts')
  const streams = { input: ctx.io.stdin as Readable, output: ctx.io.stderr.stream, signal: ctx.io.signal }
  const answered = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new Refusal('cancelled', 'Cancelled: nothing changed')
    return answer as Exclude<T, symbol>
  }
  const text = async (message: string, initialValue = '') =>
    answered(
      await prompts.text({
        message,
        initialValue,
        withGuide: false,
        validate: notEmpty,
        ...streams,
      }),
    ).trim()
  const choose = async (message: string, options: { value: string; label: string; hint?: string }[]) =>
    answered(await prompts.select({ message, options, withGuide: false, ...streams }))
  const apps = await choose('1/3  Where should apps be deployed?', [
    { value: 'local', label: 'This machine', hint: 'each app in its own sandbox' },
    { value: 'none', label: 'Nothing' },
  ])
  const host = await choose('2/3  Which git credential do projects use by default?', [
    { value: 'none', label: 'None', hint: 'set a token for each project' },
    { value: 'token', label: 'A personal access token', hint: 'GitHub, GitLab, Gitea, …' },
    { value: 'app', label: 'A GitHub App' },
  ])
  const given: Record<string, string | null> = {}
  if (host === 'token') {
    given.SVC_GIT_HOST = await text('Name of the host', 'github.com')
    given.SVC_GIT_HOST_TOKEN = answered(
      await prompts.password({
        message: 'The token',
        withGuide: false,
        validate: notEmpty,
        ...streams,
      }),
    ).trim()
  } else if (host === 'app') {
    given.SVC_GITHUB_APP_ID = await text('Id of the App')
    given.SVC_GITHUB_APP_PRIVATE_KEY_FILE = await text('File of its private key (PEM)')
  }
  const connectors = await choose('3/3  How do agents connect to external tools?', [
    { value: 'mcp', label: 'MCP servers', hint: 'as listed in svc.toml' },
    { value: 'none', label: 'Nothing' },
  ])
  // Remove settings that are no longer answered: an old token must not stay in use.
  const unused = { SVC_GIT_HOST: null, SVC_GIT_HOST_TOKEN: null }
  const unusedApp = { SVC_GITHUB_APP_ID: null, SVC_GITHUB_APP_PRIVATE_KEY_FILE: null }
  return { ...unused, ...unusedApp, ...given, SVC_APP_PROVIDER: apps, SVC_CONNECTOR_PROVIDER: connectors }
}

const notEmpty = (value: string | undefined) => ((value ?? '').trim() === '' ? 'Enter a value.' : undefined)
