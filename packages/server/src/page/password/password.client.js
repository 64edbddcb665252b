const main = document.getElementById('main')

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children)
  return node
}

async function api(method, path, body) {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(path, { method, ...json })
  const answer = await response.json()
  if (response.ok) return answer
  const issues = (answer.issues ?? []).map((issue) => `${issue.path} ${issue.message}`).join('; ')
  throw Object.assign(new Error([answer.error, issues, answer.hint].filter(Boolean).join(' ')), { code: answer.code })
}

function field(label, type, autocomplete, value = '') {
  const input = el('input', { type, autocomplete, required: '' })
  input.value = value
  return { input, row: el('label', {}, label, input) }
}

function form(rows, button, act) {
  const problem = el('p', { class: 'bad', role: 'alert' })
  const submit = el('button', { class: 'main' }, button)
  const made = el('form', {}, ...rows, submit, problem)
  made.addEventListener('submit', async (event) => {
    event.preventDefault()
    problem.textContent = ''
    submit.disabled = true
    try {
      await act()
    } catch (error) {
      problem.textContent = error.message
    }
    submit.disabled = false
  })
  return made
}

function showSignIn() {
  const email = field('E-mail', 'email', 'username')
  const password = field('Password', 'password', 'current-password')
  main.replaceChildren(
    el('h2', {}, 'Sign in'),
    form([email.row, password.row], 'Sign in', async () => {
      await api('POST', '/v1/sign-in/password', { email: email.input.value, password: password.input.value })
      location.assign('/')
    }),
    el('p', { class: 'dim' }, 'No password yet, or forgotten? An owner makes a link on the machine of the server:'),
    el('pre', {}, 'svc self-host owner-link'),
  )
}

async function show(said = '') {
  let known
  try {
    known = await api('GET', '/v1/accounts/password')
  } catch (error) {
    if (error.code === 'unauthenticated') return showSignIn()
    return main.replaceChildren(el('p', { class: 'bad' }, error.message))
  }
  const sessions = await api('GET', '/v1/accounts/dashboard-sessions')
  const mine = sessions.find((session) => session.current)
  const minutes = mine ? (Date.now() - Date.parse(mine.created_at)) / 60_000 : 0
  const email = field('E-mail', 'email', 'username', known.email ?? '')
  const current = field('Current password', 'password', 'current-password')
  const password = field('New password, 10 characters or more', 'password', 'new-password')
  const asks = known.is_set && !(mine?.began_by === 'link' && minutes < 14)
  document.getElementById('who').textContent = known.email ?? ''
  main.replaceChildren(
    el('h2', {}, known.is_set ? 'Change your password' : 'Set a password'),
    el('p', { role: 'status' }, said),
    form([email.row, ...(asks ? [current.row] : []), password.row], 'Save', async () => {
      await api('POST', '/v1/accounts/password', {
        email: email.input.value,
        password: password.input.value,
        ...(asks ? { current_password: current.input.value } : {}),
      })
      await show('Saved. Every other browser was signed out.')
    }),
    el('h2', {}, 'Where you are signed in'),
    ...sessions.map(row),
    form([], 'Sign out here', async () => {
      await api('POST', '/v1/sign-out')
      location.assign('/password')
    }),
  )
}

function row(session) {
  const what = `${session.user_agent ?? 'A browser'} · ${session.address ?? ''} · since ${new Date(session.created_at).toLocaleString()}`
  if (session.current) return el('p', {}, el('strong', {}, 'This browser'), ` · ${what}`)
  const end = el('button', { type: 'button' }, 'Sign it out')
  end.addEventListener('click', async () => {
    await api('DELETE', `/v1/accounts/dashboard-sessions/${session.dashboard_session_id}`)
    await show('Signed out there.')
  })
  return el('p', {}, what, ' ', end)
}

await show()
