/** Candidates read from the server, newest first. */
import { projectEventTypes } from '@svc/contract/schemas/event-types'
import type { Named } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { meaning, ownKeys } from '../commands/settings/keys.ts'
import { allMembers, resolveAccountId } from '../commands/members/account.ts'
import { allTokens } from '../commands/tokens/tokens.ts'
import { knownHosts } from '../config/hosts.ts'

interface Offer {
  value: string
  about: string
}

const most = 200

export const offers: Record<Exclude<Named, 'file' | 'command' | 'shell'>, (ctx: Context) => Promise<Offer[]>> = {
  async cr(ctx) {
    const found = await ctx.project.get('/change-requests', { query: { status: 'all', limit: most } })
    return found.change_requests.map((cr) => ({
      value: String(cr.number),
      about: cr.status === 'open' ? cr.title : `${cr.title} (${cr.status})`,
    }))
  },
  async session(ctx) {
    const found = await ctx.project.get('/sessions', { query: { limit: most } })
    return found.map((session) => ({
      value: session.session_id.slice(0, 8),
      about: `${session.name} (${session.status})`,
    }))
  },
  async app(ctx) {
    const found = await ctx.project.get('/apps')
    return found.apps.map((app) => ({ value: app.slug, about: app.state }))
  },
  async project(ctx) {
    const found = await ctx.api.get('/v1/projects', { query: { limit: most } })
    return found.map((project) => ({ value: project.slug, about: project.managed ? 'managed' : project.repo_url }))
  },
  async model(ctx) {
    const found = await ctx.api.get('/v1/models')
    return found.models.map((model) => ({ value: model.id, about: model.default ? 'the default' : '' }))
  },
  async host(ctx) {
    return knownHosts(await ctx.config(), ctx.io.env)
      .filter((host) => host.base !== null)
      .map((host) => ({ value: host.name, about: host.base! }))
  },
  async secret(ctx) {
    const found = await ctx.project.get('/secrets')
    return found.items.map((item) => ({ value: item.name, about: '' }))
  },
  async member(ctx) {
    const members = await allMembers(ctx.api, await resolveAccountId(ctx, undefined))
    return members.map((member) => ({ value: member.email ?? member.user_id, about: `${member.name}, ${member.role}` }))
  },
  async token(ctx) {
    const projectId = ctx.globals.project === undefined ? null : await ctx.projectId()
    const tokens = await allTokens(ctx.api, projectId)
    return tokens.slice(0, most).map((token) => ({ value: token.token_id.slice(0, 8), about: token.name }))
  },
  async webhook(ctx) {
    const found = await ctx.project.get('/webhooks')
    return found.webhooks.map((webhook) => ({ value: webhook.webhook_id.slice(0, 8), about: webhook.url }))
  },
  async event() {
    const nouns = new Set(projectEventTypes.map((type) => `${type.split('.')[0]}.*`))
    return [...nouns, ...projectEventTypes].map((value) => ({ value, about: '' }))
  },
  async setting(ctx) {
    const { settings } = await ctx.project.get('')
    return [...ownKeys, ...Object.keys(settings)].map((key) => ({ value: `${key}=`, about: meaning[key] ?? '' }))
  },
}
