import type { TestApp } from '../test-app.ts'

/** The test server's environment sets a model, which takes precedence, so it is removed during each change. */
export function modelUpstreamActs(app: () => TestApp) {
  const path = '/v1/models/upstream'
  const withoutEnvironment = async (method: 'PUT' | 'DELETE') => {
    const upstream = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ choices: [] }) })
    const { config } = app().deps
    const { model } = config
    config.model = null
    const body = { url: `http://127.0.0.1:${upstream.port}/v1`, key: 'canary-value-of-a-model', models: ['m'] }
    try {
      return await app().request(method, path, method === 'PUT' ? { body } : {})
    } finally {
      config.model = model
      await upstream.stop(true)
    }
  }
  return {
    setModelUpstream: { action: 'model_upstream.set', prepare: async () => () => withoutEnvironment('PUT') },
    clearModelUpstream: {
      action: 'model_upstream.clear',
      async prepare() {
        await withoutEnvironment('PUT')
        return () => withoutEnvironment('DELETE')
      },
    },
  }
}
