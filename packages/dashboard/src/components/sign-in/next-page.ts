/** The page that a sign-in in this tab opens next, also one by a link that is pasted into the tab. */
const key = 'svc-sign-in-next'

export const nextPage = {
  read: () => sessionStorage.getItem(key),
  set: (page: string) => sessionStorage.setItem(key, page),
  forget: () => sessionStorage.removeItem(key),
}
