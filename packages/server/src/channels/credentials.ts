/** Seals a channel's bot token and signing secret under the data key of its project. */
import type { Deps } from '../deps.ts'
import { openFor, sealFor } from '../keyring/of-project.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import type { ChatCredentials } from './platform.ts'
import type { ChannelRow } from './store.ts'

const aad = (channel: Pick<ChannelRow, 'channel_id' | 'version'>) => ['channel', channel.channel_id, channel.version]

export function sealCredentials(
  deps: Pick<Deps, 'keyring'>,
  project: Pick<ProjectRow, 'project_id' | 'data_key'>,
  channel: Pick<ChannelRow, 'channel_id' | 'version'>,
  { botToken, signingSecret }: ChatCredentials,
): Buffer {
  const value = JSON.stringify({ bot_token: botToken, signing_secret: signingSecret })
  return sealFor(deps, project, aad(channel), value)
}

export function openCredentials(
  deps: Pick<Deps, 'keyring'>,
  project: Pick<ProjectRow, 'project_id' | 'data_key'>,
  channel: ChannelRow,
): ChatCredentials {
  const text = openFor(deps, project, aad(channel), channel.sealed)
  const { bot_token, signing_secret } = JSON.parse(text) as { bot_token: string; signing_secret: string }
  return { botToken: bot_token, signingSecret: signing_secret }
}

/** Null when the project was deleted in the meantime. */
export async function credentialsOf(deps: Pick<Deps, 'db' | 'keyring'>, channel: ChannelRow) {
  const project = await getProject(deps.db, channel.project_id)
  return project === null ? null : { project, credentials: openCredentials(deps, project, channel) }
}
