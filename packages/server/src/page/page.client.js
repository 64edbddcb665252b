const main = document.getElementById('main')
const refreshMs = 5000

/** Text only: nothing that came from a repository or an agent is ever parsed as HTML. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children)
  return node
}

async function api(path, options) {
  const response = await fetch(path, options)
  const body = await response.json()
  if (!response.ok) throw Object.assign(new Error(body.error), { code: body.code, hint: body.hint })
  return body
}

function say(...children) {
  main.replaceChildren(...children)
}

function showSignIn(code) {
  const button = el('button', { type: 'button' }, 'Sign in')
  button.addEventListener('click', async () => {
    button.disabled = true
    try {
      await api('/v1/sign-in', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      })
      history.replaceState(null, '', '/')
      await showHome()
    } catch (error) {
      say(el('p', {}, error.message), el('p', { class: 'dim' }, error.hint ?? ''))
    }
  })
  say(el('p', {}, 'This link signs you in to svc on this browser.'), button)
}

function showSignedOut() {
  say(el('p', {}, 'You are not signed in. Make a link that signs you in:'), el('pre', {}, 'svc self-host owner-link'))
}

async function showHome() {
  let me
  try {
    me = await api('/v1/accounts/me')
  } catch (error) {
    if (error.code === 'unauthenticated') return showSignedOut()
    return say(el('p', {}, error.message))
  }
  document.getElementById('who').textContent = `${me.user.name} · ${me.account.name}`
  const projects = await api('/v1/projects?limit=50')
  if (projects.length === 0)
    return say(
      el('p', {}, 'Nothing here yet. Three steps to a first change:'),
      el('pre', {}, 'svc projects create --repo <url> --link\nsvc sessions new --prompt "…"\nsvc cr ls'),
      el('p', { class: 'dim' }, 'Or see the whole path with a scripted model: svc tour'),
    )
  say(...(await Promise.all(projects.map(projectSection))))
}

async function projectSection(project) {
  const base = `/v1/projects/${project.project_id}`
  const [{ change_requests: open }, sessions] = await Promise.all([
    api(`${base}/change-requests?status=open&limit=20`).catch(() => ({ change_requests: [] })),
    api(`${base}/sessions?limit=10`),
  ])
  const rows = [
    ...open.map((cr) =>
      el(
        'li',
        {},
        el('strong', {}, `#${cr.number} ${cr.title}`),
        el(
          'span',
          { class: 'dim' },
          `${cr.head_ref} → ${cr.base_ref} · svc cr show ${cr.number} --project ${project.slug}`,
        ),
      ),
    ),
    ...sessions.map((session) =>
      el(
        'li',
        {},
        el('strong', {}, session.name),
        el('span', { class: 'dim' }, [session.status, session.error].filter(Boolean).join(': ')),
        ...(session.model === 'svc-scripted-demo' ? [el('span', { class: 'dim' }, 'scripted model, no AI')] : []),
      ),
    ),
  ]
  return el(
    'section',
    {},
    el('h2', {}, project.name),
    el(
      'p',
      { class: 'dim' },
      `${project.managed ? 'managed repository' : project.repo_url} · ${project.default_branch}`,
    ),
    rows.length > 0 ? el('ul', {}, ...rows) : el('p', { class: 'dim' }, 'No open change request and no session.'),
  )
}

const code = location.pathname === '/sign-in' ? location.hash.slice(1) : ''
if (code) {
  showSignIn(code)
} else {
  await showHome()
  setInterval(() => showHome().catch((error) => say(el('p', {}, error.message))), refreshMs)
}
