export default {
  "en": {},
  "ko": {}
};
