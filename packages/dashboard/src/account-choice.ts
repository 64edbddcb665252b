/** The account that a person with several looks at; kept on this browser. */
import type { operations } from '@svc/contract/api'

type Me = operations['getMe']['responses'][200]['content']['application/json']

const key = 'svc-account'

export const chosenAccountId = () => localStorage.getItem(key)

/** `account` is the chosen one while the person belongs to it; else the one they started in. */
export function withChosenAccount(me: Me): Me {
  const chosen = me.accounts.find(({ account_id }) => account_id === chosenAccountId())
  return chosen === undefined ? me : { ...me, account: chosen }
}

export function chooseAccount(accountId: string): void {
  localStorage.setItem(key, accountId)
}
