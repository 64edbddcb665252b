const main = document.getElementById('main')

/** Text only: what the terminal calls itself is never parsed as HTML. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children)
  return node
}

function say(...children) {
  main.replaceChildren(...children)
}

async function api(path, body) {
  const options = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const response = await fetch(path, options)
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.error), { code: answer.code, hint: answer.hint })
  return answer
}

/** What the terminal put behind the `#`, which no server and no log sees. Null when it is not from a terminal. */
function readRequest() {
  const given = new URLSearchParams(location.hash.slice(1))
  const port = Number(given.get('port'))
  const [state, challenge, name] = ['state', 'challenge', 'name'].map((key) => given.get(key) ?? '')
  const fits =
    Number.isInteger(port) && port > 0 && port < 65536 && /^[\w-]{43}$/.test(challenge) && /^[\w-]{22,128}$/.test(state)
  return fits ? { port, state, challenge, name: name.slice(0, 100) || 'a terminal' } : null
}

/** The terminal makes the same of the same: packages/cli/src/browser-login.ts. */
function shortCode(challenge) {
  const letters = challenge.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}`
}

function whenSubmitted(form, act) {
  const problem = el('p', { class: 'bad', role: 'alert' })
  form.append(problem)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    problem.textContent = ''
    for (const button of form.querySelectorAll('button')) button.disabled = true
    try {
      await act()
    } catch (error) {
      problem.textContent = [error.message, error.hint].filter(Boolean).join(' ')
    }
    for (const button of form.querySelectorAll('button')) button.disabled = false
  })
}

function showSignIn(request) {
  const email = el('input', { type: 'email', name: 'email', autocomplete: 'username', required: '' })
  const password = el('input', {
    type: 'password',
    name: 'password',
    autocomplete: 'current-password',
    required: '',
  })
  const form = el(
    'form',
    {},
    el('label', {}, 'E-mail', email),
    el('label', {}, 'Password', password),
    el('button', { class: 'main' }, 'Sign in'),
  )
  whenSubmitted(form, async () => {
    await api('/v1/sign-in/password', { email: email.value, password: password.value })
    await showRequest(request)
  })
  say(
    el('h2', {}, 'Sign in first'),
    el('p', {}, 'A terminal waits to be signed in as you.'),
    form,
    el(
      'p',
      { class: 'dim' },
      'No password yet? On the machine of the server, make a link that signs this browser in, and open it here. Then reload this page.',
    ),
    el('pre', {}, 'svc self-host owner-link'),
  )
  email.focus()
}

async function showRequest(request) {
  let me
  try {
    me = await api('/v1/accounts/me')
  } catch (error) {
    if (error.code === 'unauthenticated') return showSignIn(request)
    return say(el('p', { class: 'bad' }, error.message))
  }
  document.getElementById('who').textContent = me.user.email ?? me.user.name
  const form = el(
    'form',
    {},
    el(
      'div',
      { class: 'row' },
      el('button', { class: 'main' }, 'Sign it in'),
      el('button', { type: 'button', id: 'no' }, 'No'),
    ),
  )
  whenSubmitted(form, () => approve(request))
  say(
    el('h2', {}, 'Sign in this terminal?'),
    el(
      'p',
      {},
      'svc on ',
      el('strong', {}, request.name),
      ' asks to work as ',
      el('strong', {}, me.user.name),
      `, with everything you may do in ${me.account.name}.`,
    ),
    el('p', {}, 'Your terminal shows this code:'),
    el('p', { class: 'code' }, shortCode(request.challenge)),
    el('p', { class: 'dim' }, 'If it shows another one, or if you did not run svc login, say no.'),
    form,
  )
  document.getElementById('no').addEventListener('click', () => refuse(request))
}

async function approve(request) {
  const { code } = await api('/v1/accounts/cli-logins', { challenge: request.challenge, name: request.name })
  // Nobody goes back to a page that asks again.
  history.replaceState(null, '', '/authorize')
  const answer = await tell(request, { code })
  if (answer?.ok === true)
    return say(el('h2', {}, 'Done'), el('p', {}, 'Your terminal is signed in. You can close this page.'))
  if (answer !== null)
    return say(el('h2', {}, 'The terminal could not finish'), el('p', { class: 'bad' }, String(answer.error)))
  // Another machine's terminal, or a browser that keeps pages away from programs of this one.
  const back = new URL(`http://127.0.0.1:${request.port}/callback`)
  back.search = new URLSearchParams({ state: request.state, code }).toString()
  say(
    el('h2', {}, 'One more step'),
    el('p', {}, 'This page could not reach your terminal. Paste this code there, within a minute:'),
    el('pre', { id: 'paste' }, code),
    el('p', {}, 'Or, when the terminal runs on this very machine: ', el('a', { href: back.href }, 'hand it over'), '.'),
  )
}

async function refuse(request) {
  history.replaceState(null, '', '/authorize')
  await tell(request, { refused: true })
  say(el('h2', {}, 'Nothing was signed in'), el('p', {}, 'You can close this page.'))
}

/** To the terminal that waits on this machine, in a body and not in an address. Null when it was not reached. */
async function tell(request, message) {
  try {
    const response = await fetch(`http://127.0.0.1:${request.port}/callback`, {
      method: 'POST',
      // A plain text is sent without asking first; the terminal lets only this page's origin read the answer.
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify({ state: request.state, ...message }),
      signal: AbortSignal.timeout(20_000),
    })
    return await response.json()
  } catch {
    return null
  }
}

const request = readRequest()
if (request === null)
  say(
    el('h2', {}, 'Nothing waits here'),
    el('p', {}, 'This page signs a terminal in. Run this there, and open the address it shows:'),
    el('pre', {}, 'svc login'),
  )
else await showRequest(request)
