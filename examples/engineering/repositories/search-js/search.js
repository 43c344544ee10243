/** The places whose names hold what somebody typed. */
export function search(places, typed) {
  return places.filter((place) => place.toLowerCase().includes(typed.toLowerCase()));
}
