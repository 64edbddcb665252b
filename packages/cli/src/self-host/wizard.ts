/** The three questions of the first start. Each answer is a setting of the server; all can be asked again or set by hand. */
import type { Context } from '../context.ts'
import { prompt } from '../terminal/ask.ts'

export async function askSettings(ctx: Context): Promise<Record<string, string | null>> {
  const text = async (message: string, initialValue = '') =>
    (
      await prompt(ctx, (prompts, shared) => prompts.text({ message, initialValue, validate: notEmpty, ...shared }))
    ).trim()
  const choose = (message: string, options: { value: string; label: string; hint?: string }[]) =>
    prompt(ctx, (prompts, shared) => prompts.select({ message, options, ...shared }))
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
    const token = prompt(ctx, (prompts, shared) =>
      prompts.password({ message: 'The token', validate: notEmpty, ...shared }),
    )
    given.SVC_GIT_HOST_TOKEN = (await token).trim()
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
